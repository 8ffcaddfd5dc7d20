package coordinator

import (
	"log/slog"
	"slices"
	"time"
)

// Refusal is a request or message that the coordinator refused, for the status.
type Refusal struct {
	Time   time.Time `json:"time"` // the last time
	From   string    `json:"from"` // a worker's id as it gave it, or an address
	Reason string    `json:"reason"`
	Count  int       `json:"count"` // of refusals with the same From and Reason
}

// keptRefusals is the number of different refusals in the status.
const keptRefusals = 20

// refusals keeps the last ones. It belongs to the loop. A refused process may try again
// for ever, so equal refusals are counted, and logged when the count is a power of ten.
type refusals struct {
	log  *slog.Logger
	last []Refusal // by time of the last occurrence
	// count is the number of all refusals.
	count int
}

func (r *refusals) add(from, reason string) {
	r.count++
	next := Refusal{From: from, Reason: reason}
	same := func(f Refusal) bool { return f.From == from && f.Reason == reason }
	if i := slices.IndexFunc(r.last, same); i >= 0 {
		next.Count = r.last[i].Count
		r.last = slices.Delete(r.last, i, i+1)
	}
	next.Count++
	next.Time = time.Now().UTC()
	r.last = append(r.last, next)
	r.last = r.last[max(0, len(r.last)-keptRefusals):]
	if isPowerOfTen(next.Count) {
		r.log.Warn("refused", "from", from, "reason", reason, "count", next.Count)
	}
}

func isPowerOfTen(n int) bool {
	for n > 1 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
