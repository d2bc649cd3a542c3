package main

import (
	"fmt"

	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// keyCommand creates a key. It runs in the init container of a mover's pod, so that the fingerprint is known while the
// mover waits for its peer.
const keyCommand = "key"

// key creates the key, or loads the existing one, and prints only its fingerprint. The reader of the termination message
// passes it to the other mover unchanged. If a folder must be empty but is not, key reports that instead and creates no
// key, so that no other mover can trust this one.
func (s *settings) key(to streams) int {
	if s.empty != "" {
		name, err := tree.First(s.empty)
		if err != nil {
			fmt.Fprintf(to.log, "mover key: --empty: %v\n", err)
			return exitFailed
		}
		if name != "" {
			said := report.Result{Version: report.Version, Side: "Receiver", Result: report.NotEmpty, Path: name}
			s.say(said.JSON(report.Most), to)
			return exitFailed
		}
	}
	identity, err := link.LoadIdentity(s.identity)
	if err != nil {
		fmt.Fprintf(to.log, "mover key: --identity: %v\n", err)
		return exitUsage
	}
	s.say([]byte(identity.Fingerprint), to)
	return exitDone
}
