package kind

import (
	"bytes"
	_ "embed"
	"text/template"
)

// Shared is the folder on every node that both clusters share.
const Shared = "/shared"

// StorageClass is that of the volumes in this folder.
const StorageClass = "sliceshift-shared"

//go:embed cluster.yaml.tmpl
var configText string

var configTemplate = template.Must(template.New("cluster").Parse(configText))

// setting is what the configuration of one cluster depends on.
type setting struct {
	Name                     string
	PodSubnet, ServiceSubnet string
	SharedDir, Shared        string
	// Roles are those of the nodes.
	Roles []string
}

// text is the configuration that kind reads, on any machine.
func (s setting) text() ([]byte, error) {
	var out bytes.Buffer
	err := configTemplate.Execute(&out, s)
	return out.Bytes(), err
}

const controlPlane = "control-plane"

// machines are the nodes of a cluster that runs an application. The API server has a machine
// of its own, so that a test can stop the machine that runs the pods.
var machines = []string{controlPlane, "worker"}
