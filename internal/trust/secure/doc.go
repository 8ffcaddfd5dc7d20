// Package secure has gRPC connections over mutual TLS 1.3, by the credentials of a process,
// and servers whose methods only the roles of a table may call. Nil credentials stand for
// plain text, without any check.
package secure
