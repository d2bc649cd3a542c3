package kind

import (
	"bytes"
	_ "embed"
	"text/template"
)

// Shared is the folder on every node that all clusters share.
const Shared = "/shared"

// StorageClass is the class of the volumes in this folder.
const StorageClass = "sliceshift-shared"

//go:embed cluster.yaml.tmpl
var configText string

var configTemplate = template.Must(template.New("cluster").Parse(configText))

// setting is the input for the configuration of one cluster.
type setting struct {
	Name                     string
	PodSubnet, ServiceSubnet string
	SharedDir, Shared        string
	// Roles are the roles of the nodes.
	Roles []string
}

// text returns kind's configuration, without the adaptations to this machine.
func (s setting) text() ([]byte, error) {
	var out bytes.Buffer
	err := configTemplate.Execute(&out, s)
	return out.Bytes(), err
}

const controlPlane = "control-plane"

// machines are the roles of the nodes of a cluster that runs an application. The API server has its own machine, so
// that a test can stop the machine that runs the pods.
var machines = []string{controlPlane, "worker"}
