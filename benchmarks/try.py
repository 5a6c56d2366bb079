import time,json,sys
from rich.console import Console
from settings import Settings
import importlib, dataclasses
m=importlib.import_module(sys.argv[1]); kw=eval(sys.argv[2]) if len(sys.argv)>2 else {}
s=dataclasses.replace(Settings.quick(),**kw)
t=time.time(); d=m.measure(s); print(time.time()-t); d=json.loads(json.dumps(d))
for w in (80,120):
    for tb in m.tables(d): tb.show(Console(width=w))
