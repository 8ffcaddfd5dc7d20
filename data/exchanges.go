package data

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// warnedExchanges is the part of the exchanges between two temperatures below which states hardly
// travel between the hottest and the coldest. Around a quarter is best (Kone and Kofke, J. Chem. Phys.
// 122, 2005).
const warnedExchanges = 0.1

// exchangesWarning is empty where replicas of the first functions exchange their states, and where there
// are none.
func (d Dataset) exchangesWarning(ctx context.Context, f family.Family, part simulatedPart, steps int) (string, error) {
	t := part.scheme.Tempering
	if !t.On() {
		return "", nil
	}
	var pairs [pilotFunctions]int // the least, by function
	least, function, err := d.leastOfPilot(f, func(i int, s sde.System) (float64, error) {
		accepted, err := simulate.Fastest().Exchanges(ctx, s, part.scheme, steps, d.Seed, uint64(i), pilotPurpose)
		if err != nil {
			return 0, err
		}
		least := slices.Min(accepted)
		pairs[i] = slices.Index(accepted, least)
		return least, nil
	})
	if err != nil || least >= warnedExchanges {
		return "", err
	}
	pair := pairs[function]
	return fmt.Sprintf("%s: function %d of %s accepts %.0f %% of the exchanges between the temperatures %.3g and %.3g, so that states hardly travel from the hottest to the coldest: choose more tempering.temperatures or a lower tempering.hottest",
		part.path(), function, f.Name(), 100*least, t.At(pair), t.At(pair+1)), nil
}
