package move

import (
	"fmt"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// relay has those claim templates relayed of which nothing says how one cluster reaches the other: from here both are
// reached in any case. It returns which.
func relay(volumes []api.VolumeSpec) []string {
	var templates []string
	for i := range volumes {
		if unsaid(volumes[i]) {
			volumes[i].Copy.Transport = api.TransportRelay
			templates = append(templates, volumes[i].ClaimTemplate)
		}
	}
	return templates
}

// unsaid says whether a volume is copied, and nothing says how one cluster reaches the other.
func unsaid(v api.VolumeSpec) bool {
	auto := v.Copy.Transport == "" || v.Copy.Transport == api.TransportAuto
	return v.Method == api.MethodCopy && auto && v.Copy.ServiceType == "" && v.Copy.Address == ""
}

// relayed says that templates are relayed, and why.
func relayed(templates []string, source, destination string) string {
	return fmt.Sprintf("what is copied of %s goes through this process (transport=relay): nothing says how pods of cluster %s reach those of cluster %s. Where they do it is faster: --volume TEMPLATE=copy,...,service=load-balancer, node-port, or, in one network, cluster-ip",
		strings.Join(templates, ", "), source, destination)
}
