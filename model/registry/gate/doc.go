// Package gate decides whether a candidate takes the champion's place. Decide is a pure
// function of a configuration and of tables that have, for each metric, one value of every
// held-out function; smaller is better. Values of two tables are paired by function: both
// networks were given the same equations, compared with the same reference and started from
// the same noise.
//
// The candidate is promoted if
//
//   - it passes the checks: all values are finite, it is closer to the reference than a normal
//     law with the reference's moments, and far closer than the untrained network;
//   - it is shown to be better in the metric that decides: the null hypothesis
//     E[candidate] ≥ (1 − margin)·E[champion] is rejected;
//   - it is not shown to be worse in another metric: the null hypothesis
//     E[candidate] ≤ (1 + tolerance)·E[champion] is rejected for none.
//
// Expectations are over the equations of the family. Each null hypothesis is rejected at the
// level 1 − confidence, by the test of bootstrap.Subsets over paired differences. Ties keep
// the champion. Without a champion the checks alone decide.
//
// docs/decisions/gate.md has the reasons, docs/results/gate.md the measured rate of false
// promotions and the power.
package gate
