package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestEnding: the end of the output is kept, in one line, because a table has no room for more.
func TestEnding(t *testing.T) {
	var e ending
	for i := range 1000 {
		fmt.Fprintf(&e, "line %d\n", i)
	}
	fmt.Fprint(&e, "remove the network:\n\thas active endpoints\n")
	got := e.String()
	if !strings.HasSuffix(got, "line 999; remove the network:; has active endpoints") || strings.Contains(got, "line 900") || strings.ContainsAny(got, "\n\t") {
		t.Errorf("kept %q", got)
	}
}
