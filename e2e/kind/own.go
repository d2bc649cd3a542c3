package kind

import (
	"fmt"
	"strings"
)

// kubeconfigsVariable names two kubeconfig files, of the source and of the destination, and optionally a third one, of
// the hub.
const kubeconfigsVariable = "E2E_KUBECONFIGS"

// connectOwn connects to clusters of the user.
func connectOwn(dir, list string) (*Pair, error) {
	files := strings.Split(list, ",")
	if len(files) != 2 && len(files) != 3 {
		return nil, fmt.Errorf("%s names %d files: it must be SOURCE,DESTINATION or SOURCE,DESTINATION,HUB", kubeconfigsVariable, len(files))
	}
	p := &Pair{dir: dir, East: &Cluster{Name: "east", Kubeconfig: files[0]}, West: &Cluster{Name: "west", Kubeconfig: files[1]}}
	if len(files) == 3 {
		p.Hub = &Cluster{Name: "hub", Kubeconfig: files[2]}
	}
	for _, c := range p.All() {
		if err := c.connect(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Own reports whether the clusters are the user's, so that their machines cannot be stopped.
func (p *Pair) Own() bool { return p.machine == nil }
