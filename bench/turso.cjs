// turso.cjs ADDON [ROWS]: what change capture costs in Turso, in the form and with the workloads of bench_cdc. ADDON is the native
// addon of the npm package @tursodatabase/database (tools/setup.sh --compare: third_party/turso/turso.node).
"use strict";
const { rmSync } = require("fs");
const { Database } = require(require("path").resolve(process.argv[2]));
const rows = Number(process.argv[3] || 100000);
const FILE = "bench_turso.db";
const RUNS = 3;
const ROW = 1;
const WAIT = 3;
const VARIANTS = ["off", "id", "full"];
const FILL = "INSERT INTO t VALUES (?1, 'name of row', ?1 * 1.5, ?1 % 1000)";
const WORKLOADS = [
    { name: "insert", sql: "INSERT INTO t VALUES (?1, 'name of this row', ?1 * 1.5, ?1 % 1000)" },
    { name: "update", sql: "UPDATE t SET score = score + 1, n = n + 1 WHERE id = ?1", filled: true },
    { name: "delete", sql: "DELETE FROM t WHERE id = ?1", filled: true },
    { name: "bulk update", sql: "UPDATE t SET score = score + 1, n = n + 1", filled: true, bulk: true },
];

function finish(db, statement) {
    for (;;) {
        const state = statement.stepSync();
        if (state === WAIT) db.ioLoopSync();
        else if (state !== ROW) return;
    }
}

function run(db, sql) {
    const statement = db.prepare(sql);
    finish(db, statement);
    statement.finalize();
}

function runRows(db, sql) {
    const statement = db.prepare(sql);
    for (let i = 1; i <= rows; i++) {
        statement.reset();
        statement.bindAt(1, i);
        finish(db, statement);
    }
    statement.finalize();
}

function measure(workload, variant) {
    for (const suffix of ["", "-wal", "-shm"]) rmSync(FILE + suffix, { force: true });
    const db = new Database(FILE, {});
    db.connectSync();
    run(db, "PRAGMA synchronous=OFF");
    run(db, "CREATE TABLE t(id INTEGER PRIMARY KEY, name TEXT, score REAL, n INTEGER)");
    if (workload.filled) {
        run(db, "BEGIN");
        runRows(db, FILL);
        run(db, "COMMIT");
    }
    if (variant !== "off") run(db, `PRAGMA capture_data_changes_conn('${variant}')`);
    const start = process.cpuUsage();
    run(db, "BEGIN");
    if (workload.bulk) run(db, workload.sql);
    else runRows(db, workload.sql);
    run(db, "COMMIT");
    const used = process.cpuUsage(start);
    db.close();
    return (used.user + used.system) / 1e6;
}

console.log("workload       off rows/s      off       id     full");
for (const workload of WORKLOADS) {
    const best = VARIANTS.map(() => Infinity);
    for (let k = 0; k < RUNS; k++) {
        VARIANTS.forEach((variant, i) => { best[i] = Math.min(best[i], measure(workload, variant)); });
    }
    const ratios = best.map((seconds) => (seconds / best[0]).toFixed(2).padStart(8)).join(" ");
    console.log(workload.name.padEnd(12), (rows / best[0]).toFixed(0).padStart(12), ratios);
}
for (const suffix of ["", "-wal", "-shm"]) rmSync(FILE + suffix, { force: true });
