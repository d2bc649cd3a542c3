// Package suite proves behaviour that needs real kubelets, containers and machines. make e2e-kind runs it after the
// cases of e2e. The application keeps a journal on its volume that shows whether a byte was lost or an ordinal ran
// twice.
package suite
