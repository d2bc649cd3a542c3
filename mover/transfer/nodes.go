package transfer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// mostNamed is how many device nodes are named before a pass ends.
const mostNamed = 5

// refuses reports whether an entry is a device node that is not allowed. The sender chooses its number, and a
// program that can open it reaches that device of the destination's machine. A character device 0:0 is allowed:
// overlay file systems use it to mark hidden entries.
func (m *merge) refuses(source *entry.Entry) bool {
	node := source.Kind == entry.BlockDevice || source.Kind == entry.CharDevice && source.Device != 0
	if !node || m.receiver.options.Devices {
		return false
	}
	m.nodes = append(m.nodes, source.Path)
	return true
}

// refused returns the error of a pass with refused device nodes.
func (m *merge) refused() error {
	if len(m.nodes) == 0 {
		return nil
	}
	var names []string
	for _, path := range m.nodes {
		names = append(names, strconv.QuoteToASCII(path))
	}
	more := ""
	if len(m.nodes) == mostNamed {
		more = ", and maybe more"
	}
	return fmt.Errorf("the source holds device nodes, by which a pod can reach devices of the machine that it runs on: %s%s; nothing is made of them. "+
		"Remove them at the source where the application does not need them; or have them copied: --devices, or devices: true in spec.volumes[].copy", strings.Join(names, ", "), more)
}
