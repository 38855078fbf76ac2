/* law_trees.c: random expression trees. */
#include "law.h"

int main(int argc, char **argv)
{
    Law law;
    law_open(&law, argc, argv);
    return law_close(&law);
}
