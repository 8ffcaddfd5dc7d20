// Package convert translates between the messages of package message and
// protobuf: FromWorker and ToWorker for the coordinator, FromCoordinator and
// ToCoordinator for workers. It bounds what comes from outside: sentences are
// clipped, numbers that JSON cannot write are dropped. Whether a message fits the
// state of its receiver, and whether a plan is in range, the receiver decides.
package convert
