package kind

import (
	"fmt"
	"strings"
)

// kubeconfigsVariable names two kubeconfig files, of the source and of the destination.
const kubeconfigsVariable = "E2E_KUBECONFIGS"

// connectOwn connects to clusters that the user has.
func connectOwn(list string) (*Pair, error) {
	files := strings.Split(list, ",")
	if len(files) != 2 {
		return nil, fmt.Errorf("%s names %d files: it must be two, SOURCE,DESTINATION", kubeconfigsVariable, len(files))
	}
	p := &Pair{East: &Cluster{Name: "east", Kubeconfig: files[0]}, West: &Cluster{Name: "west", Kubeconfig: files[1]}}
	for _, c := range p.Both() {
		if err := c.connect(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Own says that the clusters are the user's, and no machine of theirs can be stopped.
func (p *Pair) Own() bool { return p.kind == "" }
