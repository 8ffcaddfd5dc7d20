package reproduce

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/report/studies"
)

// Make finds the results of long runs by these keys. If a key changes, it trains and
// evaluates again. A change of what the numbers mean must change the keys (format,
// experiment.Format).
func TestNamesOfResults(t *testing.T) {
	for _, c := range []struct {
		study, preset, evaluation string
		seed                      uint64
		run, key                  string
	}{
		{"vn1d", "scaled", "", 1, "9587b3380b172aa083539946442d41f3", "67a6bff1977f96f61791334d37ee9559"},
		{"vn1d", "scaled", "budgets", 1, "9587b3380b172aa083539946442d41f3", "1aa214200db485c0fec94e48ac7443a5"},
		{"vn1d", "scaled", "", 2, "6799f1ac40ce3448e7e69ec13d26baa7", "95453f226dfe7ba960b4c16ebd71bdc2"},
		{"vn1d", "full", "", 3, "c47fb8340440458f13a8bf73edd32c22", "45bc875b74261fe24420047cbd90a63e"},
		{"rare1d", "scaled", "", 1, "3500ff3d44a714f5020706f5a8800c60", "33a1c6042662244ee809b5a6174bd22c"},
		{"rare1d", "scaled", "sigma0-1", 1, "3500ff3d44a714f5020706f5a8800c60", "dcb77cb9fcd50144eabbe03f04ee8541"},
		{"rare1d", "scaled", "rk4-16", 1, "3500ff3d44a714f5020706f5a8800c60", "d96e97554cd214dd1f084ca2234c0c89"},
		{"rare1d", "scaled", "dopri5", 2, "401ffb2759f62ace375c275651aafda6", "eac22d6a660a5bfd8704658faf15ed21"},
		{"rare1d", "smoke", "", 1, "0f696887f3909d54de9079b65bb0d498", "bef8141a7170916a1bda4e8c790d3792"},
	} {
		chosen, err := studies.Select(c.study, c.preset)
		if err != nil {
			t.Fatal(err)
		}
		runs, err := Plan(chosen, c.preset, int(c.seed))
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range runs {
			for _, task := range j.Evaluations {
				if j.Seed != c.seed || task.Name != c.evaluation {
					continue
				}
				if run, key := j.Experiment.Hash(), task.key(); run != c.run || key != c.key {
					t.Errorf("%s, %s, seed %d, evaluation %q: run %s and evaluation %s, were %s and %s", c.study, c.preset, c.seed, c.evaluation, run, key, c.run, c.key)
				}
			}
		}
	}
}
