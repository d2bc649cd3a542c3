package pause

import "k8s.io/apimachinery/pkg/runtime/schema"

// Storage is how the storage of StatefulSets changes that an operator owns.
type Storage struct {
	schema.GroupKind
	// Field is the field of the operator's resource with the storage, for a change in place: a paused operator writes
	// neither the StatefulSet nor its claims, and after its pause it leaves claim templates alone that are as the field. It
	// is empty if the operator does not do that.
	Field string
	// Own is the operator's own way to change the storage, if Field is empty.
	Own string
	// Source is the URL of its documentation or code.
	Source string
}

// Storages lists the operators whose behaviour is known.
var Storages = []Storage{
	{
		kind("rabbitmq.com", "RabbitmqCluster"), "spec.persistence (storageClassName, storage)", "",
		"https://github.com/rabbitmq/cluster-operator/blob/main/internal/resource/statefulset.go",
	},
	{kind("monitoring.coreos.com", "Prometheus"), "spec.storage.volumeClaimTemplate", "", prometheus},
	{kind("monitoring.coreos.com", "Alertmanager"), "spec.storage.volumeClaimTemplate", "", prometheus},
	{kind("monitoring.coreos.com", "ThanosRuler"), "spec.storage.volumeClaimTemplate", "", prometheus},
	{
		kind("operator.victoriametrics.com", "VMCluster"), "storage.volumeClaimTemplate of spec.vmstorage or spec.vmselect", "",
		"https://docs.victoriametrics.com/operator/faq/",
	},
	{
		kind("elasticsearch.k8s.elastic.co", "Elasticsearch"), "",
		"ECK accepts no other change than a larger size: add a node set with the new volumeClaimTemplates in spec.nodeSets, and remove the present one, whose data ECK moves first",
		"https://www.elastic.co/docs/deploy-manage/deploy/cloud-on-k8s/volume-claim-templates",
	},
	{
		kind("kafka.strimzi.io", "Kafka"), "",
		"create a KafkaNodePool with the new storage, let a KafkaRebalance move the partitions onto it, and delete the present pool",
		"https://strimzi.io/blog/2023/08/28/kafka-node-pools-storage-and-scheduling/",
	},
}

const prometheus = "https://prometheus-operator.dev/docs/platform/storage/"

func kind(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }

// StorageOf returns how the storage of a resource's StatefulSets changes. It is empty if that is not known.
func StorageOf(of schema.GroupKind) Storage {
	for _, each := range Storages {
		if each.GroupKind == of {
			return each
		}
	}
	return Storage{}
}
