// Package evaluate compares a trained state with held-out functions, which it has
// never seen.
//
// Every row of the table is one way to sample each held-out function: the model; the
// model given another function's input; the same network untrained; normal laws with
// and without the reference's moments; MCMC at a budget; the floor, a second
// independent reference set; and one half of the reference's chains against the other
// half. Every column is one distance between those samples and the reference; lower is
// better, and the floor is the best possible. Particles are compared by observables
// that do not depend on their order.
package evaluate
