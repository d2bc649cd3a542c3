package scheduling

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
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
			Message: fmt.Sprintf("cluster %s runs Kubernetes %d.%d, and cluster %s, where the pods run now, %d.%d: a dry run finds dropped fields, but not changed behaviour", at.Cluster, to.Major(), to.Minor(), sides.Source.Cluster, from.Major(), from.Minor()),
			Remedy:  "read the changes between the two versions, or upgrade the destination first",
		})
	}
	for _, node := range nodes {
		kubelet, err := version.ParseGeneric(node.Status.NodeInfo.KubeletVersion)
		if err != nil || !TakesPods(node) || supported(to, kubelet) {
			continue
		}
		return append(found, plan.Finding{
			Reason: api.ReasonVersionSkew, Object: "node " + node.Name, Warning: true,
			Message: fmt.Sprintf("the kubelet of node %s in cluster %s is of version %d.%d, and its API server of %d.%d: Kubernetes supports kubelets up to %d minor versions older and none newer, and this one may ignore fields of a pod", node.Name, at.Cluster, kubelet.Major(), kubelet.Minor(), to.Major(), to.Minor(), oldestKubelet),
			Remedy:  "change the kubelet to a version that its API server supports, or keep the pods away from the node: " + at.Kubectl().Do("cordon", node.Name),
		})
	}
	return found
}

func supported(server, kubelet *version.Version) bool {
	return kubelet.Major() == server.Major() && kubelet.Minor() <= server.Minor() && kubelet.Minor()+oldestKubelet >= server.Minor()
}
