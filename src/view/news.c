/* news.c: waiting until there may be changes.
 *
 * A count, under a lock of its own: whoever waits does not keep a commit from running, and a commit
 * does not run what waits. Reading the count before looking for changes loses no news. */
#include "view/engine_priv.h"

#include <errno.h>

Status weir_news_init(News *news, Error *err)
{
    WEIR_TRY(weir_cond_init(&news->arrival, err));
    const Status status = weir_lock_init(&news->lock, LOCK_RANK_LEAF, err);
    if (status != WEIR_OK) {
        (void)pthread_cond_destroy(&news->arrival);
        return status;
    }
    news->is_ready = true;
    return WEIR_OK;
}

void weir_news_deinit(News *news)
{
    if (news->is_ready) {
        weir_lock_deinit(&news->lock);
        (void)pthread_cond_destroy(&news->arrival);
    }
    *news = (News){0};
}

void weir_news_announce(News *news)
{
    weir_lock_acquire(&news->lock);
    news->count++;
    (void)pthread_cond_broadcast(&news->arrival);
    weir_lock_release(&news->lock);
}

uint64_t weir_engine_news(Engine *engine)
{
    weir_lock_acquire(&engine->news.lock);
    const uint64_t count = engine->news.count;
    weir_lock_release(&engine->news.lock);
    return count;
}

Status weir_engine_wait(Engine *engine, uint64_t seen, const struct timespec *deadline,
                        const Cancel *cancel, bool *is_late, Error *err)
{
    News *const news = &engine->news;
    *is_late = false;
    weir_lock_acquire(&news->lock);
    Status status = weir_cancel_check(cancel, err);
    while (status == WEIR_OK && news->count == seen && !*is_late) {
        const int result =
            deadline == NULL ? pthread_cond_wait(&news->arrival, &news->lock.mutex)
                             : pthread_cond_timedwait(&news->arrival, &news->lock.mutex, deadline);
        *is_late = result == ETIMEDOUT;
        status = weir_cancel_check(cancel, err);
    }
    weir_lock_release(&news->lock);
    return status;
}

void weir_engine_wake(Engine *engine)
{
    weir_lock_acquire(&engine->news.lock);
    (void)pthread_cond_broadcast(&engine->news.arrival);
    weir_lock_release(&engine->news.lock);
}
