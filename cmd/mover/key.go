package main

import (
	"fmt"

	"github.com/sliceshift/sliceshift/mover/link"
)

// keyCommand makes a key. It is for the container before a mover's, in the same pod: what it says of the key is then
// known while the mover waits for its peer's.
const keyCommand = "key"

// key makes the key, or reads the one that is there, and says its fingerprint and nothing else: whoever reads the
// termination message gives it to the other mover as it is.
func (s *settings) key(to streams) int {
	identity, err := link.LoadIdentity(s.identity)
	if err != nil {
		fmt.Fprintf(to.log, "mover key: --identity: %v\n", err)
		return exitUsage
	}
	s.say([]byte(identity.Fingerprint), to)
	return exitDone
}
