package simulation

import (
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// consensus is what one coordinator of several does to agree with the others on a log of
// ledgers, as hashicorp/raft does it: terms, votes for candidates whose log is not behind,
// entries that are committed once a majority has them on its disks, and rounds of heartbeats
// by which a leader verifies that it still leads.
type consensus struct {
	c *coordinator

	// On the disk. Terms and votes are there before anybody hears of them, entries from their
	// writing up to synced.
	term   uint64
	vote   *coordinator
	log    []entry
	synced int

	down      bool
	life      int // of the process
	role      role
	leader    *coordinator  // of this term, as far as is known
	heard     time.Duration // from the leader, or when it voted or campaigned
	waits     time.Duration // for a leader
	watching  int           // numbers the timers: the last one counts
	committed int           // so many entries are known to be

	// of a candidate and a leader
	votes    map[*coordinator]bool
	peers    map[*coordinator]*peer
	round    uint64 // of heartbeats, the last one begun
	verified uint64 // the last that a majority has answered
	proposed map[int]func()
	awaited  []awaited
}

// peer is what a leader knows of another coordinator.
type peer struct {
	next, match int           // entries to send from, entries that it has for certain
	answered    uint64        // the last round
	contact     time.Duration // when it last answered
}

// entry of the log. The first one of each leader has no ledger.
type entry struct {
	term   uint64
	by     int // incarnation of the leader that proposed it
	slot   int
	ledger *machine.Ledger
}

// awaited is called once the leader has verified a round.
type awaited struct {
	round uint64
	then  func()
}

type role int

const (
	follower role = iota
	candidate
	leading
)

// Times of hashicorp/raft with its defaults.
const (
	leaderTimeout = time.Second // of which a follower waits for one to two
	beatLeader    = 200 * time.Millisecond
	contactTime   = 500 * time.Millisecond // after which a leader that reaches no majority steps down
)

// later schedules a call in this life of the process.
func (m *consensus) later(d time.Duration, happens func()) {
	life := m.life
	m.c.w.on(&m.c.host, d, func() {
		if !m.down && m.life == life {
			happens()
		}
	})
}

// begin starts the process from its disk.
func (m *consensus) begin() {
	m.down, m.role, m.leader, m.committed = false, follower, nil, 0
	m.life++
	m.c.hangs = 0
	m.c.w.logf("%s starts, in term %d with %d entries", m.c.id, m.term, len(m.log))
	m.await()
}

// crash ends the process. Of what was written and not synced, a part may be left.
func (m *consensus) crash() {
	m.down = true
	m.log = m.log[:m.synced+m.c.w.r.IntN(len(m.log)-m.synced+1)]
	m.synced = len(m.log)
}

// await has the coordinator campaign when it hears from no leader for a random time.
func (m *consensus) await() {
	w := m.c.w
	m.heard, m.waits = w.now, w.between(leaderTimeout, 2*leaderTimeout)
	m.watching++
	m.watch(m.watching)
}

func (m *consensus) watch(timer int) {
	m.later(m.heard+m.waits-m.c.w.now, func() {
		switch {
		case m.role == leading || m.watching != timer:
		case m.c.w.now < m.heard+m.waits:
			m.watch(timer)
		default:
			m.campaign()
		}
	})
}

// campaign asks all for their votes in a new term.
func (m *consensus) campaign() {
	w := m.c.w
	m.term++
	m.role, m.vote, m.leader, m.votes = candidate, m.c, nil, map[*coordinator]bool{m.c: true}
	w.logf("%s campaigns in term %d with %d entries", m.c.id, m.term, len(m.log))
	m.await()
	term, length, last := m.term, len(m.log), m.lastTerm()
	for _, c := range m.c.others {
		w.transmit(m.c, c, func() {
			granted := c.consensus.grants(m.c, term, length, last)
			has := c.consensus.term
			w.transmit(c, m.c, func() { m.voted(c, term, has, granted) })
		})
	}
}

func (m *consensus) lastTerm() uint64 {
	if len(m.log) == 0 {
		return 0
	}
	return m.log[len(m.log)-1].term
}

// grants votes for a candidate whose log is not behind this one, once a term, and never while
// a leader is heard.
func (m *consensus) grants(to *coordinator, term uint64, length int, last uint64) bool {
	w := m.c.w
	if m.role == leading || m.leader != nil && w.now-m.heard < leaderTimeout || term < m.term {
		return false
	}
	if term > m.term {
		m.adopt(term)
	}
	behind := last < m.lastTerm() || last == m.lastTerm() && length < len(m.log)
	if behind && !w.sabotage.anyLeader || m.vote != nil && m.vote != to {
		return false
	}
	m.vote = to
	m.await()
	return true
}

// adopt takes over a higher term, in which this coordinator does not lead.
func (m *consensus) adopt(term uint64) {
	m.term, m.vote = term, nil
	m.follow(nil, "there is a later term")
}

// follow makes a follower of a leader, or of one that is not known yet.
func (m *consensus) follow(leader *coordinator, why string) {
	was := m.role
	m.role, m.leader = follower, leader
	m.proposed, m.awaited = nil, nil
	if was == leading {
		m.c.w.logf("%s leads no more: %s", m.c.id, why)
		m.c.depose()
		m.await()
	}
}

func (m *consensus) voted(by *coordinator, term, has uint64, granted bool) {
	if has > m.term {
		m.adopt(has)
		return
	}
	if m.role != candidate || m.term != term || !granted {
		return
	}
	m.votes[by] = true
	if len(m.votes) >= m.c.w.majority() {
		m.lead()
	}
}

// lead begins with an entry of this term: once that is committed, all earlier ones are known
// to be.
func (m *consensus) lead() {
	w := m.c.w
	m.role, m.leader = leading, m.c
	m.peers, m.proposed, m.awaited = map[*coordinator]*peer{}, map[int]func(){}, nil
	m.round, m.verified = 0, 0
	w.logf("%s leads in term %d", m.c.id, m.term)
	w.elected(m)
	for _, c := range m.c.others {
		m.peers[c] = &peer{next: len(m.log), contact: w.now}
	}
	m.propose(entry{}, m.c.start)
	m.beat(m.term)
}

// propose appends an entry to the log, and calls when it is committed.
func (m *consensus) propose(e entry, committed func()) {
	e.term = m.term
	m.log = append(m.log, e)
	m.proposed[len(m.log)] = committed
	m.sync(func() { m.advance() })
	m.send()
}

// sync makes the log durable as it is now, which takes a moment, and calls if that is of use.
func (m *consensus) sync(done func()) {
	length, term, last := len(m.log), m.term, m.lastTerm()
	m.later(m.c.w.between(0, m.c.w.weather.sync), func() {
		if m.term != term || len(m.log) < length || length > 0 && m.log[length-1].term != last {
			return // replaced meanwhile
		}
		m.synced = max(m.synced, length)
		done()
	})
}

// beat sends heartbeats again and again, and ends when the coordinator reaches no majority.
func (m *consensus) beat(term uint64) {
	if m.role != leading || m.term != term {
		return
	}
	w, reached := m.c.w, 1
	for _, p := range m.peers {
		if w.now-p.contact < w.weather.contact {
			reached++
		}
	}
	if reached < w.majority() {
		m.follow(nil, "it reaches no majority")
		return
	}
	m.send()
	m.later(beatLeader, func() { m.beat(term) })
}

// send begins a round: each of the others gets the entries that it lacks.
func (m *consensus) send() {
	m.round++
	for _, c := range m.c.others {
		m.sendTo(c)
	}
}

// batch is what a leader sends: entries after the first before, and its term.
type batch struct {
	term      uint64
	round     uint64
	before    int
	last      uint64 // term of the entry before
	entries   []entry
	committed int
}

func (m *consensus) sendTo(c *coordinator) {
	w, p := m.c.w, m.peers[c]
	b := batch{term: m.term, round: m.round, before: p.next, entries: slices.Clone(m.log[p.next:]), committed: m.committed}
	if p.next > 0 {
		b.last = m.log[p.next-1].term
	}
	w.transmit(m.c, c, func() {
		c.consensus.append(m.c, b, func(has uint64, matches bool, length int) {
			w.transmit(c, m.c, func() { m.answered(c, b, has, matches, length) })
		})
	})
}

// append takes a leader's entries, and answers when they are durable.
func (m *consensus) append(from *coordinator, b batch, answer func(has uint64, matches bool, length int)) {
	w := m.c.w
	if b.term < m.term {
		answer(m.term, false, 0)
		return
	}
	if b.term > m.term {
		m.adopt(b.term)
	}
	m.follow(from, "")
	m.heard = w.now
	if len(m.log) < b.before || b.before > 0 && m.log[b.before-1].term != b.last {
		answer(m.term, false, min(len(m.log), b.before-1))
		return
	}
	for i, e := range b.entries {
		at := b.before + i
		if at < len(m.log) && m.log[at].term == e.term {
			continue
		}
		if at < m.committed {
			w.fail("rule 18: %s replaces entry %d, which is committed", m.c.id, at+1)
		}
		m.log, m.synced = append(m.log[:at:at], e), min(m.synced, at)
	}
	length := b.before + len(b.entries)
	m.commit(min(b.committed, length))
	if len(b.entries) > 0 && !w.calm && w.oneIn(1+w.weather.crash/20) {
		m.later(w.between(0, w.weather.sync), func() { w.powerFails(m.c, from) })
	}
	if m.synced >= length || w.sabotage.noSync {
		answer(m.term, true, length)
		if m.synced >= length {
			return
		}
		answer = func(uint64, bool, int) {}
	}
	m.sync(func() { answer(m.term, true, length) })
}

// answered is called when an answer to a leader's round has come.
func (m *consensus) answered(by *coordinator, b batch, has uint64, matches bool, length int) {
	if has > m.term {
		m.adopt(has)
	}
	if m.role != leading || m.term != b.term {
		return
	}
	p := m.peers[by]
	p.contact, p.answered = m.c.w.now, max(p.answered, b.round)
	m.verify()
	if m.role != leading || m.term != b.term {
		return
	}
	if !matches {
		p.next = min(p.next, length)
		m.sendTo(by)
		return
	}
	p.match, p.next = max(p.match, length), max(p.next, length)
	m.advance()
}

// advance commits what a majority has, if it is of this term.
func (m *consensus) advance() {
	if m.role != leading {
		return
	}
	have := []int{m.synced}
	for _, p := range m.peers {
		have = append(have, p.match)
	}
	slices.Sort(have)
	n := have[len(have)-m.c.w.majority()]
	if n <= m.committed || m.log[n-1].term != m.term {
		return
	}
	first, term := m.committed+1, m.term
	m.commit(n)
	for i := first; i <= n && m.role == leading && m.term == term; i++ {
		if then := m.proposed[i]; then != nil {
			delete(m.proposed, i)
			then()
		}
	}
}

// commit notes that the first n entries are committed.
func (m *consensus) commit(n int) {
	for ; m.committed < n; m.committed++ {
		m.c.w.agree(m, m.committed)
	}
}

// verify notes the round that a majority has answered.
func (m *consensus) verify() {
	rounds := []uint64{m.round}
	for _, p := range m.peers {
		rounds = append(rounds, p.answered)
	}
	slices.Sort(rounds)
	m.verified = max(m.verified, rounds[len(rounds)-m.c.w.majority()])
	for len(m.awaited) > 0 && m.awaited[0].round <= m.verified {
		then := m.awaited[0].then
		m.awaited = m.awaited[1:]
		then()
	}
}

// verifyThen calls once a round that begins now or later has been answered by a majority: until
// then no other coordinator had been elected.
func (m *consensus) verifyThen(then func()) {
	m.awaited = append(m.awaited, awaited{m.round + 1, then})
}

// ledgers are those that the committed entries leave, by slot.
func (m *consensus) ledgers() map[int]machine.Ledger {
	disk := map[int]machine.Ledger{}
	for _, e := range m.log[:m.committed] {
		if e.ledger != nil {
			disk[e.slot] = *e.ledger
		}
	}
	return disk
}
