// Package pages runs every command that a page of the documentation shows, between real control planes. The
// commands use the built program, kubectl, and one kubeconfig with the contexts that the pages name.
package pages

import (
	"os"
	"testing"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/sliceshift/sliceshift/e2e/harness"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	os.Exit(harness.Main(m, nil, harness.Embedded, harness.Kind))
}
