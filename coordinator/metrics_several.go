package coordinator

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/internal/metrics"
)

// standing is what a coordinator is among others.
type standing struct {
	leads   bool
	term    uint64
	applied uint64 // index of the last entry in its ledger
	silent  int    // others that do not answer it
}

// standing is this coordinator's now.
func (k *coordinator) standing() standing {
	if k.node == nil {
		return standing{leads: true}
	}
	s := standing{leads: k.term.Load() != nil, silent: int(k.silent.Load())}
	_, s.term = k.node.Leader()
	if applied, err := k.ledger.Applied(); err == nil { // otherwise the ledger is damaged, which ends the process
		s.applied = applied
	}
	return s
}

// collect gives the metrics that every coordinator has, whether it leads or not.
func (s standing) collect(to metrics.Writer) {
	to.Gauge("ergoflow_build_info", 1, ergoflow.Build())
	to.Bool("ergoflow_coordinator_leads", s.leads)
	to.Gauge("ergoflow_coordinator_term", float64(s.term))
	to.Gauge("ergoflow_coordinator_entries", float64(s.applied))
	to.Gauge("ergoflow_coordinator_silent_others", float64(s.silent))
}

// newFollowing is a collector for a coordinator that does not lead.
func (k *coordinator) newFollowing() *metrics.Collector {
	return metrics.New(described, func(to metrics.Writer) { k.standing().collect(to) })
}
