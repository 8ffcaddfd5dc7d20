// Package keys has the keys that encrypt a cluster's gossip, and decides how one replaces
// another while all members stay members. The coordinator owns the decision: it sends the keys
// over sessions with mutual TLS, never by gossip. docs/decisions/gossip-keys.md has the reasons.
package keys
