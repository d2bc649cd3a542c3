package kind

import (
	"bytes"
	_ "embed"
	"text/template"

	"github.com/sliceshift/sliceshift/e2e/kind/docker"
)

// Shared is the folder on every node that both clusters share.
const Shared = "/shared"

//go:embed cluster.yaml.tmpl
var configText string

var configTemplate = template.Must(template.New("cluster").Parse(configText))

// setting is what the configuration of one cluster depends on.
type setting struct {
	Name, Image              string
	PodSubnet, ServiceSubnet string
	SharedDir, Shared        string
	// Built says that the image is our own: it has no network daemon and no DNS.
	Built bool
	docker.Host
}

// text is the configuration that kind reads.
func (s setting) text() (string, error) {
	var out bytes.Buffer
	err := configTemplate.Execute(&out, s)
	return out.String(), err
}

// Roles are the nodes of a cluster. The API server has a machine of its own, so that a test
// can stop the machine that runs the pods.
func (setting) Roles() []string { return []string{"control-plane", "worker"} }
