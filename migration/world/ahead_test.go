package world

import (
	"fmt"
	"strings"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// TestAheadPanic: a panic while a list is read ahead is raised in the pass that uses the list, where the manager
// recovers it.
func TestAheadPanic(t *testing.T) {
	listed := listAhead(t.Context(), endpoint.Endpoint{Live: struct{ client.Client }{}}, keepAll)
	defer func() {
		if cause := fmt.Sprint(recover()); !strings.Contains(cause, "nil pointer") {
			t.Errorf("got %s", cause)
		}
	}()
	pods, err := listed.pods(t.Context())
	t.Errorf("got %v, %v", pods, err)
}
