// Package flight is the flight recorder of a process: a bounded memory of what the process did
// in the last minutes. When something stops, the memory is written to a file, and package
// explain reads the files of all members.
//
// A [Recorder] keeps three rings: events, the last steps, and one step a second from longer
// ago. To record takes a lock and copies 232 bytes; nothing is written or allocated. [Watch]
// looks four times a second at the process itself: whether it stood still, whether the wall
// clock jumped, how much memory it uses.
//
// Records hold texts of errors and decisions. They never hold messages, configurations or
// credentials, and [Clean] removes what looks like a secret from every text.
//
// # Dumps
//
// A dump is a gzip file of JSON lines (docs/formats.md): a [Header], the records in the order of
// their numbers, and a last line with their number, without which the dump was cut off. A
// [Store] is a directory of dumps of bounded number and size. Files appear whole or not at all.
package flight
