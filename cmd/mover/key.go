package main

import (
	"fmt"

	"github.com/sliceshift/sliceshift/mover/link"
	"github.com/sliceshift/sliceshift/mover/report"
	"github.com/sliceshift/sliceshift/mover/tree"
)

// keyCommand makes a key. It is for the container before a mover's, in the same pod: what it says of the key is then
// known while the mover waits for its peer's.
const keyCommand = "key"

// key makes the key, or reads the one that is there, and says its fingerprint and nothing else: whoever reads the
// termination message gives it to the other mover as it is. Where a folder must be empty, and is not, it says that
// instead, and there is no key: no other mover can be told of this one.
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
