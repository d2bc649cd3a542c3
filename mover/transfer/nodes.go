package transfer

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/sliceshift/sliceshift/mover/entry"
)

// mostNamed is how many device nodes are named before a pass ends.
const mostNamed = 5

// refuses says whether an entry is a device node that nobody has allowed. The sender chooses its number, and whoever may open
// it reaches that device of the destination's machine. A character device 0:0 is none: overlay file systems mark by it what
// they hide.
func (m *merge) refuses(source *entry.Entry) bool {
	node := source.Kind == entry.BlockDevice || source.Kind == entry.CharDevice && source.Device != 0
	if !node || m.receiver.options.Devices {
		return false
	}
	m.nodes = append(m.nodes, source.Path)
	return true
}

// refused is what a pass with refused device nodes ends with.
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
