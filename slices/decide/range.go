package decide

import (
	"fmt"
)

// rangeWarning returns a warning if a range moves by more ordinals than it keeps, or an empty string. It warns if more
// ordinals are given up, and more are begun, than stay. It derives these numbers from the pods.
func (d *decider) rangeWarning() string {
	kept, begun, givenUp := len(d.ours), int(d.missing), 0
	for _, pod := range d.condemned() {
		givenUp += int(one(!pod.Terminating))
	}
	if d.Spec.Deleting || givenUp <= kept || begun <= kept {
		return ""
	}
	return fmt.Sprintf("%d ordinals are removed and %d added in one step, and %d stay: data that the application keeps in a majority of its pods may be lost; "+
		"to keep more of them, change ordinals.start and replicas in smaller steps", givenUp, begun, kept)
}
