// Package suite moves applications between two clusters with real kubelets, containers
// and data, every time under an independent auditor: make e2e-kind. The application keeps a
// journal on its volume that shows whether a byte was lost or an ordinal ran twice.
package suite
