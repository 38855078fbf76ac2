// turso.cjs ADDON DATABASE: runs statements with the native addon of @tursodatabase/database. Standard input is a JSON
// array of SQL texts; standard output a JSON array with the rows of each, or {"error": text}.
"use strict";
const { readFileSync } = require("fs");
const ROW = 1;
const WAIT = 3;

function run(db, sql) {
    const rows = [];
    try {
        const statement = db.prepare(sql);
        statement.raw(true);
        statement.safeIntegers(true);
        for (;;) {
            const state = statement.stepSync();
            if (state === ROW) {
                rows.push(statement.row());
            } else if (state === WAIT) {
                db.ioLoopSync();
            } else {
                break;
            }
        }
        statement.finalize();
    } catch (error) {
        return { error: String(error.message) };
    }
    return rows;
}

const { Database } = require(require("path").resolve(process.argv[2]));
const db = new Database(process.argv[3], {});
db.connectSync();
const results = JSON.parse(readFileSync(0, "utf8")).map((sql) => run(db, sql));
db.close();
process.stdout.write(JSON.stringify(results, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
