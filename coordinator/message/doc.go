// Package message holds the messages that the coordinator and its workers send
// each other in a session, each defined once. The coordinator's state machine
// (coordinator/machine) and the worker's (worker/protocol) both speak in them.
//
// Package convert translates them to protobuf and back: protobuf types appear
// there and at the gRPC streams, nowhere else.
//
//	worker ── FromWorker ──► coordinator
//	       ◄─ FromCoordinator ──
//
// Messages are values. Their slices are shared and must not be changed.
package message
