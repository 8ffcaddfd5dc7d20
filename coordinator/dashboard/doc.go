// Package dashboard is the page of a coordinator: what the cluster does, live, and buttons for
// those who may change it.
//
//	GET  /              the page (static)
//	GET  /api/state     the state, one JSON document
//	GET  /api/events    server-sent events: hello, history, state, log, beat
//	GET  /api/me        who the caller is, and whether they may change something
//	POST /api/drain, /api/cancel, /api/schedule, /api/promote, /api/rollback
//
// The package decides nothing about runs: it gets the state and the actions as functions
// (Source). Once a second the hub takes a snapshot and encodes it once for all streams. A stream
// holds no queue: it sends the newest snapshot, and the events that the journal still keeps. So
// a browser that reads slowly, or not at all, costs a connection, and is dropped when a write
// takes too long.
package dashboard
