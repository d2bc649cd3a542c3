package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

// oldestKubelet is how many minor versions a kubelet may be older than its API server
// (https://kubernetes.io/releases/version-skew-policy/).
const oldestKubelet = 3

// Skew warns of a destination that is older than the source, and of kubelets there outside their API server's version
// skew. Either may not support fields of the source's pods. A malformed version is not checked.
func Skew(sides *endpoint.Pair, source, destination string, nodes []corev1.Node) []plan.Finding {
	from, errFrom := version.ParseGeneric(source)
	to, errTo := version.ParseGeneric(destination)
	if errTo != nil {
		return nil
	}
	var found []plan.Finding
	at := sides.Destination
	if errFrom == nil && (to.Major() < from.Major() || to.Major() == from.Major() && to.Minor() < from.Minor()) {
		found = append(found, plan.Finding{
			Reason: api.ReasonVersionSkew, Object: "cluster " + at.Cluster, Warning: true,
			Message: fmt.Sprintf("cluster %s runs Kubernetes %d.%d, and cluster %s, where the pods run now, %d.%d: fields that it drops are found by a dry run, and what it does otherwise is not", at.Cluster, to.Major(), to.Minor(), sides.Source.Cluster, from.Major(), from.Minor()),
			Remedy:  "read what has changed between the two, or bring the destination up to that version first",
		})
	}
	for _, node := range nodes {
		kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
		if err != nil || !TakesPods(node) || supported(to, kubelet) {
			continue
		}
		return append(found, plan.Finding{
			Reason: api.ReasonVersionSkew, Object: "node " + node.Name, Warning: true,
			Message: fmt.Sprintf("the kubelet of node %s in cluster %s is of version %d.%d, and its API server of %d.%d: Kubernetes supports kubelets up to %d minor versions older and none newer, and such a one may start a pod without what it does not know", node.Name, at.Cluster, kubelet.Major(), kubelet.Minor(), to.Major(), to.Minor(), oldestKubelet),
			Remedy:  "bring the kubelet to a version that its API server supports, or keep the pods away from it: " + at.Kubectl().Do("cordon", node.Name),
		})
	}
	return found
}

func supported(server, kubelet *version.Version) bool {
	return kubelet.Major() == server.Major() && kubelet.Minor() <= server.Minor() && kubelet.Minor()+oldestKubelet >= server.Minor()
}
