"""What the vendors publish about their own error codes, as data beside its typed readers.

Sources: the NVIDIA Xid catalog workbook (sheets Xids, Xid 144-150 Decode, Customer User Guide), the NVIDIA Fabric
Manager user guide, NVIDIA/NVSentinel, and the open kernel modules 595.45.04. Each row of the Xid and SXid tables names
its own.
"""
