package coordinator

import (
	"context"
	"time"
)

// meetInterval is between two looks at the other coordinators.
const meetInterval = time.Second

// others watches the other coordinators of a cluster.
type others struct {
	coordinator *coordinator
	silent      map[string]bool // addresses that do not answer, as the log says
}

// meet asks the others who they are. It says in the log who does not answer, and joins the gossip
// of those that this one's does not have: coordinators begin without each other's, and one that
// is started again knows nobody.
func (o *others) meet(ctx context.Context) error {
	k := o.coordinator
	members, err := k.node.Others()
	if err != nil {
		return err
	}
	known := make(map[string]bool)
	for _, m := range k.members.Members() {
		known[m.Meta.ControlAddress] = true
	}
	ctx, cancel := context.WithTimeout(ctx, meetInterval)
	defer cancel()
	var at []string
	for _, m := range members {
		who, err := k.node.Introduction(ctx, m.Address)
		switch silent := err != nil; {
		case silent && !o.silent[m.Address]:
			k.Log.Warn("a coordinator does not answer", "address", m.Address, "error", err)
		case !silent && o.silent[m.Address]:
			k.Log.Info("a coordinator answers again", "address", m.Address)
		}
		o.silent[m.Address] = err != nil
		if err == nil && !known[who.GetControl()] {
			at = append(at, who.GetGossip())
		}
	}
	return k.members.Meet(at)
}
