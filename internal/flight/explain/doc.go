// Package explain finds in the dumps of flight recorders who stopped first, and why.
//
// [Explain] is a pure function of the dumps:
//
//	dumps ─► members   the dumps of one process, merged by the numbers of their records
//	      ─► clocks    one time for all, from the steps that several members made
//	      ─► incident  the last time at which something stopped
//	      ─► rules     each finds one kind of fault and its culprit
//	      ─► verdict   the finding that is most certain; of those the earliest
//
// Clocks of members differ, by seconds or by more. So times are seconds by the monotonic clock
// of each process, shifted so that all members made the same step of the same generation at the
// same time.
//
// A rule says how certain its finding is: a cause that a process has seen itself, such as its own
// pause, is more certain than one that others conclude from silence. Where no finding is more
// than a possibility, the verdict names the possibilities and no culprit.
package explain
