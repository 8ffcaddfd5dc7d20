// Package grafana makes Grafana's dashboards of ergoflow from a short description, and tests that
// they and the rules of alerts ask for what processes export.
package grafana
