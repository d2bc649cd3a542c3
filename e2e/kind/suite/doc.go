// Package suite shows what only real kubelets, containers and machines can: make e2e-kind
// runs it after the cases of e2e. The application keeps a journal on its volume that shows
// whether a byte was lost or an ordinal ran twice.
package suite
