package suite

import (
	"testing"
)

// usual is the application that most tests move.
func usual() app { return app{replicas: 3, grace: 5} }

// TestData moves a StatefulSet of 3 from east to west. Every line that it wrote is there
// afterwards, and no ordinal ran twice.
func TestData(t *testing.T) {
	v := deploy(t, usual())
	v.watch()
	v.drive(v.mover())
	v.audit(v.expectMoved(), "")
}
