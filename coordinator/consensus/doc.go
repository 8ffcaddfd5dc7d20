// Package consensus lets several coordinators keep one ledger, and decides which of them leads.
//
// It is hashicorp/raft with what that leaves to its user: a log on the disk (log.go), connections
// (link.go), how a cluster begins (formation.go), and how members change (members.go). The
// coordinators of a cluster are its members. One of them leads for a term, and it alone
// conducts runs. An entry that it proposes counts once a majority of the members has it on their
// disks, and every member applies the entries in the same order to its State.
//
// # Fencing
//
// A leader may be stopped, or cut off, while another is elected. Three things keep it from
// harm. An entry carries the term in which its proposer was elected, and no member applies an
// entry that reached the log in another term: so what a leader decides from an old state is
// void, also if the same member has become the leader again. Propose returns only when the entry
// is applied, so an effect that follows from it has a majority behind it. And Verify asks a
// majority whether the term still counts, before the leader acts without an entry.
//
// # Files
//
// Below the coordinator's directory:
//
//	raft.db     log, votes and identity of this member (bbolt)
//	snapshots/  of the ledger: they replace the beginning of the log
package consensus
