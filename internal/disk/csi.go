package disk

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// naming lists attributes of CSI volumes, in lower case, that identify the data of a volume, for drivers whose handle is
// free text. placing lists attributes that give the scope of such a name.
var (
	naming = []string{
		"share", "subdir", "source", "path", "export", "exportpath", "hostpath", "rootpath", "subvolumepath", "subvolumename", "imagename",
		"bucket", "bucketname", "bucket_name", "containername", "sharename", "volumename", "volumepath", "volume", "dataset", "datasetname",
		"filesystemid", "fsid", "mountname", "iqn", "nqn", "targetiqn", "devicepath", "wwid",
	}
	placing = []string{
		"server", "host", "hostname", "endpoint", "dnsname", "pool", "fsname", "clusterid", "storageaccount", "storageaccountname", "resourcegroup",
		"portal", "targetportal", "lun",
	}
)

// Locating returns the attributes of a CSI volume that identify its data. The others configure provisioning or mounting.
func Locating(attributes map[string]string) map[string]string {
	var kept map[string]string
	for key, value := range attributes {
		if value == "" || !slices.Contains(naming, strings.ToLower(key)) && !slices.Contains(placing, strings.ToLower(key)) {
			continue
		}
		if kept == nil {
			kept = map[string]string{}
		}
		kept[key] = value
	}
	return kept
}

// twins maps CSI drivers to the kind of the in-tree source that uses the same disk names.
var twins = map[string]string{
	"ebs.csi.aws.com": ebs, "ebs.csi.eks.amazonaws.com": ebs, "pd.csi.storage.gke.io": gcePD, "cinder.csi.openstack.org": cinder,
	"disk.csi.azure.com": azureDisk, "pxd.portworx.com": portworx,
}

func ofCSI(csi *corev1.CSIPersistentVolumeSource) identity {
	id := identity{handle: csi.Driver + "/" + csi.VolumeHandle, places: []place{{kind: "csi", path: csi.Driver + "/" + csi.VolumeHandle}}}
	located := Locating(csi.VolumeAttributes)
	at := map[string]string{}
	var all []string
	for _, key := range slices.Sorted(maps.Keys(located)) {
		at[strings.ToLower(key)] = located[key]
		all = append(all, strings.ToLower(key)+"="+located[key])
	}
	if len(all) > 0 {
		id.handle += " {" + strings.Join(all, ", ") + "}"
	}
	if kind := twins[csi.Driver]; kind != "" {
		id.places = append(id.places, place{kind: kind, path: lastOf(csi.VolumeHandle)})
	}
	if strings.HasPrefix(csi.Driver, "efs.csi.") { // the folder is part of the handle after the file system, or follows from the access point
		id.places = append(id.places, place{kind: "efs", path: folder(strings.ReplaceAll(csi.VolumeHandle, ":", "/")), folder: true})
	}
	id.places = append(id.places, placesIn(at, csi.VolumeHandle)...)
	if slices.ContainsFunc(naming, func(key string) bool { return at[key] != "" }) {
		id.places = append(id.places, place{kind: "csi", path: csi.Driver + "?" + strings.Join(all, "&")})
	}
	return id
}

// placesIn returns the places in the attributes of any driver. NFS, SMB, Ceph, iSCSI and Azure shares have the same
// attribute names in all drivers.
func placesIn(at map[string]string, handle string) []place {
	var places []place
	share := first(at["share"], at["export"], at["exportpath"])
	if at["server"] != "" && share != "" {
		places = append(places, place{kind: nfs, host: host(at["server"]), path: folder(share, at["subdir"]), folder: true})
	}
	if source := strings.ToLower(strings.ReplaceAll(at["source"], `\`, "/")); strings.HasPrefix(source, "//") {
		server, rest, _ := strings.Cut(source[2:], "/")
		places = append(places, place{kind: "smb", host: host(server), path: folder(rest, strings.ToLower(at["subdir"])), folder: true})
	}
	if root := first(at["subvolumepath"], at["rootpath"]); root != "" {
		places = append(places, place{kind: cephFS, path: folder(root), folder: true})
	}
	if at["pool"] != "" {
		places = append(places, place{kind: rbd, path: at["pool"] + "/" + first(at["imagename"], handle)})
	}
	if iqn := first(at["iqn"], at["targetiqn"]); iqn != "" {
		places = append(places, place{kind: iSCSI, path: lun(iqn, first(at["lun"], "0"))})
	}
	if at["sharename"] != "" {
		places = append(places, place{kind: azureFile, path: strings.ToLower(at["sharename"])})
	}
	return places
}

// first returns the first text that is not empty.
func first(texts ...string) string {
	for _, text := range texts {
		if text != "" {
			return text
		}
	}
	return ""
}

// lastOf returns the last path element of a name in lower case, without zones and subscriptions.
func lastOf(name string) string {
	return strings.ToLower(name[strings.LastIndexByte(name, '/')+1:])
}

func lun(of, number string) string { return strings.ToLower(of) + "/" + number }
