package migration

import (
	"testing"
	"time"
)

// TestSimulateAThousand bounds the work of a large dry run.
func TestSimulateAThousand(t *testing.T) {
	s := scenario{replicas: 1000, templates: []string{"data"}, budget: maxUnavailable(1)}.build()
	begin := time.Now()
	result := Simulate(s)
	t.Logf("%d steps, %s, %v, %v", len(result.Steps), time.Since(begin), result.Outcome, result.Held)
}
