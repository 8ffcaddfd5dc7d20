package ergoflow

// Exit codes of `ergoflow retrain`. The command ends with one, and a coordinator that has
// started the command for a schedule reads from it what became of the run. Any other code
// is a failure.
const (
	RetrainPromoted    = 0  // the candidate is the champion, or there was nothing to do
	RetrainKept        = 10 // the champion stays: the candidate is not better by the margin
	RetrainRefused     = 11 // the gate refuses the candidate
	RetrainOutOfBudget = 12 // the budget ended the training, and nothing was promoted
	RetrainSkipped     = 13 // another retraining of the model was running
)
