package dependencies

import (
	"reflect"

	corev1 "k8s.io/api/core/v1"
)

// secretsStore is the driver with volumes that name a SecretProviderClass, and secretsStoreAttribute the
// attribute that names it (kubernetes-sigs/secrets-store-csi-driver).
const (
	secretsStore          = "secrets-store.csi.k8s.io"
	secretsStoreAttribute = "secretProviderClass"
)

// disks are the fields of volumes with data on a separate disk or share without a claim.
const disks = "hostPath gcePersistentDisk awsElasticBlockStore nfs iscsi glusterfs rbd flexVolume cinder cephfs flocker fc azureFile vsphereVolume quobyte " +
	"azureDisk photonPersistentDisk portworxVolume scaleIO storageos"

// sourceFields lists the fields of volume sources, for volumes of pods and persistent volumes.
var sourceFields = map[string][]line{
	"Volume": {same("name emptyDir gitRepo secret persistentVolumeClaim downwardAPI configMap projected csi ephemeral image"), judged(CheckOutside, disks)},

	"EmptyDirVolumeSource":              {same("medium sizeLimit mode")},
	"GitRepoVolumeSource":               {same("repository revision directory")},
	"KeyToPath":                         {same("key path mode user")},
	"SecretVolumeSource":                {names(Secret, "secretName"), same("items defaultMode optional defaultUser")},
	"ConfigMapVolumeSource":             {names(ConfigMap, "name"), same("items defaultMode optional defaultUser")},
	"DownwardAPIVolumeSource":           {same("items defaultMode defaultUser")},
	"DownwardAPIVolumeFile":             {same("path fieldRef resourceFieldRef mode user")},
	"ProjectedVolumeSource":             {same("sources defaultMode defaultUser")},
	"VolumeProjection":                  {same("secret downwardAPI configMap serviceAccountToken clusterTrustBundle podCertificate")},
	"SecretProjection":                  {names(Secret, "name"), same("items optional")},
	"ConfigMapProjection":               {names(ConfigMap, "name"), same("items optional")},
	"DownwardAPIProjection":             {same("items")},
	"ServiceAccountTokenProjection":     {same("expirationSeconds path user"), judged(CheckAccount, "audience")},
	"ClusterTrustBundleProjection":      {names(ClusterTrustBundle, "name"), judged(CheckNodeSetup, "signerName"), same("labelSelector optional path user")},
	"PodCertificateProjection":          {judged(CheckNodeSetup, "signerName"), same("keyType maxExpirationSeconds credentialBundlePath keyPath certificateChainPath userAnnotations user")},
	"PersistentVolumeClaimVolumeSource": {names(PersistentVolumeClaim, "claimName"), same("readOnly")},
	"EphemeralVolumeSource":             {same("volumeClaimTemplate")},
	"PersistentVolumeClaimTemplate":     {same("metadata spec")},
	"ImageVolumeSource":                 {judged(CheckImages, "reference pullPolicy")},
	"CSIVolumeSource": {
		names(CSIDriver, "driver"),
		names(Secret, "nodePublishSecretRef"),
		{Use{Names: SecretProviderClass, of: providerClass}, "volumeAttributes"},
		same("readOnly fsType"),
	},
	"HostPathVolumeSource": {judged(CheckOutside, "path type")},
	"LocalVolumeSource":    {judged(CheckVolumes, "path"), same("fsType")},
	"NFSVolumeSource":      {judged(CheckOutside, "server path"), same("readOnly")},

	"AWSElasticBlockStoreVolumeSource": {judged(CheckOutside, "volumeID"), same("fsType partition readOnly")},
	"GCEPersistentDiskVolumeSource":    {judged(CheckOutside, "pdName"), same("fsType partition readOnly")},
	"AzureDiskVolumeSource":            {judged(CheckOutside, "diskName diskURI"), same("cachingMode fsType readOnly kind")},
	"FCVolumeSource":                   {judged(CheckOutside, "targetWWNs lun wwids"), same("fsType readOnly")},
	"FlockerVolumeSource":              {judged(CheckOutside, "datasetName datasetUUID")},
	"PhotonPersistentDiskVolumeSource": {judged(CheckOutside, "pdID"), same("fsType")},
	"PortworxVolumeSource":             {judged(CheckOutside, "volumeID"), same("fsType readOnly")},
	"QuobyteVolumeSource":              {judged(CheckOutside, "registry volume"), same("readOnly user group tenant")},
	"VsphereVirtualDiskVolumeSource":   {judged(CheckOutside, "volumePath"), same("fsType storagePolicyName storagePolicyID")},

	"AzureFileVolumeSource":           {names(Secret, "secretName"), same("shareName readOnly")},
	"AzureFilePersistentVolumeSource": {in("SecretNamespace", Secret, "secretName"), same("shareName readOnly secretNamespace")},
	"CephFSVolumeSource":              {names(Secret, "secretRef"), same("monitors path user secretFile readOnly")},
	"CephFSPersistentVolumeSource":    {names(Secret, "secretRef"), same("monitors path user secretFile readOnly")},
	"CinderVolumeSource":              {names(Secret, "secretRef"), judged(CheckOutside, "volumeID"), same("fsType readOnly")},
	"CinderPersistentVolumeSource":    {names(Secret, "secretRef"), same("volumeID fsType readOnly")},
	"FlexVolumeSource":                {names(Secret, "secretRef"), judged(CheckOutside, "driver"), same("fsType readOnly options")},
	"FlexPersistentVolumeSource":      {names(Secret, "secretRef"), judged(CheckVolumes, "driver"), same("fsType readOnly options")},
	"GlusterfsVolumeSource":           {names(Endpoints, "endpoints"), same("path readOnly")},
	"GlusterfsPersistentVolumeSource": {in("EndpointsNamespace", Endpoints, "endpoints"), same("path readOnly endpointsNamespace")},
	"ISCSIVolumeSource":               {names(Secret, "secretRef"), judged(CheckOutside, "targetPortal iqn lun"), same("iscsiInterface fsType readOnly portals chapAuthDiscovery chapAuthSession initiatorName")},
	"ISCSIPersistentVolumeSource":     {names(Secret, "secretRef"), same("targetPortal iqn lun iscsiInterface fsType readOnly portals chapAuthDiscovery chapAuthSession initiatorName")},
	"RBDVolumeSource":                 {names(Secret, "secretRef"), judged(CheckOutside, "monitors image pool"), same("fsType user keyring readOnly")},
	"RBDPersistentVolumeSource":       {names(Secret, "secretRef"), same("monitors image fsType pool user keyring readOnly")},
	"ScaleIOVolumeSource":             {names(Secret, "secretRef"), same("gateway system sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly")},
	"ScaleIOPersistentVolumeSource":   {names(Secret, "secretRef"), same("gateway system sslEnabled protectionDomain storagePool storageMode volumeName fsType readOnly")},
	"StorageOSVolumeSource":           {names(Secret, "secretRef"), same("volumeName volumeNamespace fsType readOnly")},
	"StorageOSPersistentVolumeSource": {names(Secret, "secretRef"), same("volumeName volumeNamespace fsType readOnly")},
	"SecretReference":                 {same("name namespace")},
	"CSIPersistentVolumeSource": {
		judged(CheckVolumes, "driver volumeHandle"),
		names(Secret, "controllerPublishSecretRef nodeStageSecretRef nodePublishSecretRef controllerExpandSecretRef nodeExpandSecretRef"),
		same("readOnly fsType volumeAttributes"),
	},
}

// claimFields lists the fields of claims, and of volumes without their sources.
var claimFields = map[string][]line{
	"PersistentVolumeClaimSpec": {
		same("accessModes selector resources volumeName volumeMode"),
		names(StorageClass, "storageClassName"),
		names(VolumeAttributesClass, "volumeAttributesClassName"),
		{Use{Names: VolumeSnapshot, of: snapshotOf}, "dataSource"},
		{Use{Names: VolumeSnapshot, of: snapshotElsewhere, in: namespaceOfSource}, "dataSourceRef"},
	},
	"VolumeResourceRequirements": {same("limits requests")},
	"PersistentVolumeSpec": {
		same("capacity accessModes persistentVolumeReclaimPolicy mountOptions volumeMode"),
		judged(CheckVolumes, disks+" local csi claimRef nodeAffinity"),
		judged(CheckClasses, "storageClassName"),
		names(VolumeAttributesClass, "volumeAttributesClassName"),
	},
	"VolumeNodeAffinity": {judged(CheckVolumes, "required")},
	"ObjectReference":    {same("kind namespace name uid apiVersion resourceVersion fieldPath")},
}

// providerClass returns the SecretProviderClass that a volume of the secrets store names.
func providerClass(parent reflect.Value) string {
	csi, is := reflect.TypeAssert[corev1.CSIVolumeSource](parent)
	if !is || csi.Driver != secretsStore {
		return ""
	}
	return csi.VolumeAttributes[secretsStoreAttribute]
}

// snapshotOf returns the VolumeSnapshot from which a claim is restored.
func snapshotOf(parent reflect.Value) string {
	spec, is := reflect.TypeAssert[corev1.PersistentVolumeClaimSpec](parent)
	if !is || spec.DataSource == nil || spec.DataSource.Kind != VolumeSnapshot {
		return ""
	}
	return spec.DataSource.Name
}

// snapshotElsewhere returns the VolumeSnapshot of another namespace from which a claim is restored. Kubernetes stores
// one of the claim's namespace in both fields.
func snapshotElsewhere(parent reflect.Value) string {
	spec, is := reflect.TypeAssert[corev1.PersistentVolumeClaimSpec](parent)
	if !is || spec.DataSourceRef == nil || spec.DataSourceRef.Kind != VolumeSnapshot || namespaceOfSource(parent) == "" {
		return ""
	}
	return spec.DataSourceRef.Name
}

// namespaceOfSource returns the namespace in which a claim looks for its source; empty for its own.
func namespaceOfSource(parent reflect.Value) string {
	spec, is := reflect.TypeAssert[corev1.PersistentVolumeClaimSpec](parent)
	if !is || spec.DataSourceRef == nil || spec.DataSourceRef.Namespace == nil {
		return ""
	}
	return *spec.DataSourceRef.Namespace
}
