package gate

// Decision is what becomes of a candidate.
type Decision string

const (
	Promote Decision = "promote" // the candidate becomes the champion
	Keep    Decision = "keep"    // the champion stays: the candidate is not shown to be better, or is worse in another metric
	Refuse  Decision = "refuse"  // a check fails: something is wrong with the candidate, the tables or the configuration
)

// Verdict is a decision with everything that it follows from.
type Verdict struct {
	Decision Decision `json:"decision"`
	Reasons  []string `json:"reasons"` // sentences, those that decide first
	Metric   string   `json:"metric"`  // that decides
	// Functions are judged; Equations are the independent ones among them.
	Functions   int          `json:"functions"`
	Equations   int          `json:"equations"`
	Confidence  float64      `json:"confidence"` // of either end of an interval
	Checks      []Check      `json:"checks"`
	Differences []Difference `json:"differences"` // the metric that decides first; none without a champion
	Warnings    []string     `json:"warnings"`
}

// Check is one of the sanity checks of the candidate.
type Check struct {
	Name   string `json:"name"` // finite, normal, untrained
	Passed bool   `json:"passed"`
	Reason string `json:"reason"`
}

// Outcome of the comparison in one metric.
type Outcome string

const (
	Better    Outcome = "better"     // shown to be better by the margin; of the metric that decides
	NotBetter Outcome = "not better" // of the metric that decides
	Tolerated Outcome = "tolerated"  // not shown to be worse by more than the tolerance
	Worse     Outcome = "worse"      // shown to be
)

// Difference compares candidate and champion in one metric.
type Difference struct {
	Metric    string  `json:"metric"`
	Candidate float64 `json:"candidate"` // mean over functions
	Champion  float64 `json:"champion"`
	// Change is the mean of candidate − champion: a part of the champion's mean absolute
	// value or, for calibrations (Absolute), the difference itself. Negative is better.
	Change   float64 `json:"change"`
	Absolute bool    `json:"absolute"`
	// Low and High are one-sided confidence limits of Change; null: the functions are too
	// few to have one.
	Low  *float64 `json:"low"`
	High *float64 `json:"high"`
	// Limit is what Change is compared with: −margin of the metric that decides, whose High
	// has to be below it; else the tolerance, above which Low may not be.
	Limit float64 `json:"limit"`
	// P is the p-value of the null hypothesis that Change is on the harmless side of Limit.
	P       float64 `json:"p"`
	Outcome Outcome `json:"outcome"`
	Closer  int     `json:"closer"` // functions for which the candidate's value is smaller
	Further int     `json:"further"`
}
