package cluster

import (
	"bytes"
	"testing"
)

func TestBuildFindsItsBinaryAgain(t *testing.T) {
	binary := controlPlane(t)
	var progress bytes.Buffer
	again, err := Build(t.Context(), &progress)
	if err != nil {
		t.Fatal(err)
	}
	if again != binary || progress.Len() > 0 {
		t.Errorf("second build: %s, progress %q; want %s and silence", again, progress.String(), binary)
	}
}
