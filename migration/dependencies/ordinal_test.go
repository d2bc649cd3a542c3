package dependencies

import "testing"

// TestOrdinalOf: only the names that a controller gives to the pods of a set have an ordinal.
func TestOrdinalOf(t *testing.T) {
	for pod, want := range map[string]int32{
		"web-0": 0, "web-12": 12, "web-2147483647": 2147483647, "web-2147483648": -1, "web-01": -1, "web-": -1, "web": -1, "web-x": -1, "web--1": -1, "web-+1": -1, "web-1-2": -1, "db-1": -1,
	} {
		if got, belongs := OrdinalOf("web", pod); belongs != (want >= 0) || belongs && got != want {
			t.Errorf("%s: %d, %t", pod, got, belongs)
		}
	}
}
