package experiment

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/training/flow"
)

// A preset's hashes name its checkpoints and its shards, and a checkpoint carries its
// JSON: none of them may change, or no older run is found again.
func TestPresetsKeepTheirHashes(t *testing.T) {
	var pinned []string
	for _, want := range []struct {
		name, run, dataset string
		json               string // SHA-256 of the JSON, the first 16 digits
	}{
		{"anyd/demo", "e4a18dd8c32b5c8406232b9ae219fd52", "2aebdccf7d226de633217f9504bf7f59", "6005e433985ead9d"},
		{"anyd/full", "aca0cabb81e588f7bdd141b0a1956c21", "24a7efc577bfebde3193d1462abd5692", "b1b93eb5a912c121"},
		{"anyd/scaled", "7f435310d0dd448ce06939a48007e902", "327d78c986d57f1eedf67e03b421dcef", "daf86571fa615b40"},
		{"anyd/smoke", "946665e85c6c50ddfdd1a32a2b600197", "3322c60af7dc20d3b539fbd358f3b644", "07d79e969d207fb2"},
		{"cn2d/best", "253f5d6ebc8f34c6421ed2892c72986e", "03f0fb4b8c1a3211ddab0e9c9f57f73a", "f4da1a77908b9303"},
		{"cn2d/full", "05ac494c22019ad0452792b41df52867", "4210c2fad4ca67034b7118db68cc9978", "8e025435b4a6a44c"},
		{"cn2d/scaled", "c4613e67381be7c36dbbe1fb27693ca6", "03f0fb4b8c1a3211ddab0e9c9f57f73a", "e0f0ed9cd95d99f0"},
		{"cn2d/smoke", "505a07c61547000df5c8634f8451703f", "19b37d4d2b1e5ab5b84edc407562f4f0", "876e8decfa034ce3"},
		{"cn2d_grid/best", "253f5d6ebc8f34c6421ed2892c72986e", "03f0fb4b8c1a3211ddab0e9c9f57f73a", "8a2c5b1a07fe4b51"},
		{"cn2d_grid/full", "460e00a34937284988e65d6351c7f108", "4210c2fad4ca67034b7118db68cc9978", "843c4bd34aa509d5"},
		{"cn2d_grid/scaled", "3b398ba48c36637f0a71f2f716a2e32f", "03f0fb4b8c1a3211ddab0e9c9f57f73a", "4f669f42716e763c"},
		{"cn2d_grid/smoke", "3dde32c6c159fb22720e0a6a2fdf2ff5", "19b37d4d2b1e5ab5b84edc407562f4f0", "5918205a19fa702c"},
		{"cn2d_transfer/full", "790682e58d330b57875cb488721e9caa", "4210c2fad4ca67034b7118db68cc9978", "a009ab6175167ae3"},
		{"cn2d_transfer/scaled", "63b5f6a410007707cb98d5eebf4724ba", "b7523f68692a2b4645214ffc1f6d3927", "ac63f1fbcb51daf4"},
		{"cn2d_transfer/smoke", "a403bf7c92ba8d0c61491af4bdc68290", "7b90c8b4400ffe311b755f256e010637", "ca61f5bcc8ec22c5"},
		{"particles64d/best", "4d14b3ecbade7aad47b8741b35dce963", "a279fbf0ea6951ff51d3137710a89d00", "de35115f5b7c7d0a"},
		{"particles64d/full", "bc6d98a181ad7066b9d3142425a966e6", "227f75481ec0ffbbf03a66d128881f16", "b16ac50e0b56755b"},
		{"particles64d/scaled", "19e008535982f47d25f4c290f67bdfac", "a279fbf0ea6951ff51d3137710a89d00", "de225035358ced1f"},
		{"particles64d/smoke", "c3f6bf622bf5a61d5260695db0f0afb4", "97d654abca9a7f92bbee3951544bac92", "ed6462336e3c633e"},
		{"rare1d/best", "aaaf02762340de09f12dc7bc7949d13e", "84dd502aa1ed1b96941ef6d23e9055b4", "55105cea2454becd"},
		{"rare1d/demo", "4deca818cf987a57a0949e2dea4792ba", "4fdfe56143913a56d00cd6c0a51a2052", "e0b707181051fccc"},
		{"rare1d/full", "92dd7377c7e11a81cdc950a7529223fd", "f17d785baba1aea9af5dbed68cbadc46", "2efee3235ffee0ee"},
		{"rare1d/scaled", "3500ff3d44a714f5020706f5a8800c60", "e48ffd419ef4aae64905ff5c297bb159", "c7c5ccf4f504d6d6"},
		{"rare1d/smoke", "0f696887f3909d54de9079b65bb0d498", "45516bd79c27cba77df97d08fdf8aaa0", "912b2a42a06d4c3a"},
		{"vn1d/best", "e93138664987515d19279706d8101ae8", "c101fb3dc6b14d0257abd9e4d7bb7296", "6cbe3b0278b99b83"},
		{"vn1d/demo", "982efde3193ff04a4cbfda90bfa7943f", "6a9d31728dbbde5a59ab5836edf5c186", "f3e2663f0fa3f9b3"},
		{"vn1d/full", "41dc55740cefbd7e5e33f37a13ea69c5", "4e3a5d542859ef99bf53c387ecb80bd2", "ed490de7d7eb4b95"},
		{"vn1d/scaled", "9587b3380b172aa083539946442d41f3", "2987093ef08890ec1cf3a03fd282f240", "fa7ce5726379ea53"},
		{"vn1d/smoke", "5f69bca73df29127ea6a54b19a83e327", "265539acf5e69defb4489b6629e872cb", "acdd00faa30c659d"},
		{"vn1d_time/full", "0ff59b0a54cd4f4c601c431807b37e33", "e6e88f305048ab8ba19416d811263157", "00d76f5c3b013b26"},
		{"vn1d_time/scaled", "7a482e2604b5447d83e3fc9375d4f48a", "73a9c8c9a9af0bf44aaccd7b5e6f416b", "584b1edd5bd86078"},
		{"vn1d_time/smoke", "7259df9e170bf398e40e4847cf4f2bdf", "b25c6b738f12eae343f292f6f7fa2225", "43dfe79192e105cf"},
	} {
		pinned = append(pinned, want.name)
		name, preset, _ := strings.Cut(want.name, "/")
		e, err := Load(name, preset, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if sum := fmt.Sprintf("%.8x", sha256.Sum256(raw)); e.Hash() != want.run || e.Data.Hash() != want.dataset || sum != want.json {
			t.Errorf("%s: hash %s, of the data %s, of the JSON %s, want %+v", want.name, e.Hash(), e.Data.Hash(), sum, want)
		}
	}
	for _, name := range Names() {
		for _, preset := range Presets(name) {
			if !slices.Contains(pinned, name+"/"+preset) {
				t.Errorf("%s/%s is not pinned", name, preset)
			}
		}
	}
}

// So for an experiment that carries the definition of its family: with raw states, as in all
// older builds, and with standardised ones.
func TestDefinedFamilyKeepsItsHash(t *testing.T) {
	e, err := Load("vn1d", "smoke", "", []string{
		`data.family='{name: well, dim: 1, grid: {lo: -4, hi: 4, nodes: 64}, parameters: {a: "uniform(0, 1)"}, drift: a - x, diffusion: 1}'`,
	})
	if err != nil {
		t.Fatal(err)
	}
	const family = `{"name":"well","dim":1,"grid":{"lo":-4,"hi":4,"nodes":64},"parameters":{"a":"uniform(0, 1)"},"drift":["a - x"],"diffusion":["1"]}`
	for states, want := range map[flow.States]string{
		flow.Raw: "98a4440f6b6e3aa0fdce93322c32019f", flow.Standardised: "dbe7324924164420317fc292eb1fa50b",
	} {
		e.Training.States = states
		if e.Data.Family != family || e.Hash() != want || e.Data.Hash() != "43c82d3724221fb21148117d88ba6c00" {
			t.Errorf("%s: family %s, hash %s, of the data %s", states, e.Data.Family, e.Hash(), e.Data.Hash())
		}
	}
}
